module github.com/linkstream/linkstream/loadtest

go 1.26.0
