module github.com/linkstream/linkstream/services/links

go 1.26.0
