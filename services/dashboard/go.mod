module github.com/linkstream/linkstream/services/dashboard

go 1.26.0

// npm packages may bring Go files; they are not part of this module.
ignore ./web/node_modules

require (
	github.com/linkstream/linkstream/services/internal v0.0.0
	github.com/prometheus/client_golang v1.25.0
	go.uber.org/goleak v1.3.0
)

replace (
	github.com/linkstream/linkstream/events => ../../events
	github.com/linkstream/linkstream/migrations => ../../migrations
	github.com/linkstream/linkstream/services/internal => ../internal
)
