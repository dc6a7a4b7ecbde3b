module github.com/linkstream/linkstream/services/clicks

go 1.26.0
