module github.com/linkstream/linkstream/services/dashboard

go 1.26.0

// npm packages may bring Go files; they are not part of this module.
ignore ./web/node_modules

require (
	connectrpc.com/connect/v2 v2.0.2
	github.com/google/uuid v1.6.0
	github.com/linkstream/linkstream/services/internal v0.0.0
	github.com/prometheus/client_golang v1.25.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/caarlos0/env/v11 v11.4.2 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/danielgtaylor/huma/v2 v2.39.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.23.0 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/linkstream/linkstream/events => ../../events
	github.com/linkstream/linkstream/migrations => ../../migrations
	github.com/linkstream/linkstream/services/internal => ../internal
)
