module github.com/linkstream/linkstream/services/cacheupdater

go 1.26.0
