module github.com/linkstream/linkstream/services/redirect

go 1.26.0
