module github.com/linkstream/linkstream/services/analytics

go 1.26.0
