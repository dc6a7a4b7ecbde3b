package grafana

// Region is what a region's visitors and marketing teams get out of it.
func Region() Dashboard {
	return Dashboard{
		UID: "linkstream-regions", Title: "linkstream: regions",
		About:     "What visitors and editors feel, by region. Begin here.",
		Variables: []Variable{{Name: "region", Label: "Region", Metric: "redirect_responses_total"}},
		Rows:      []Row{visitors(), memory(), freshness(), counting(), editors(), users()},
	}
}

func visitors() Row {
	return Row{Title: "Visitors", Panels: []Panel{
		{
			Title: "Redirects", Unit: PerSecond, About: "Answers of all kinds.",
			Queries: []Query{{`region:redirects:rate1m{region=~"$region"}`, "{{region}}"}},
		},
		{
			Title: "Answers by status", Unit: PerSecond, Stacked: true,
			About:   "503 is ours: no cache has the link and the origin cannot be asked. 404 are mistyped or guessed slugs, 429 are visitors over the limit of their address.",
			Queries: []Query{{`sum by (status) (rate(redirect_responses_total{region=~"$region"}[1m])) > 0`, "{{status}}"}},
		},
		{
			Title: "Slowest 1 % of redirects", Unit: Seconds, Limit: 0.01,
			About:   "Inside the edge, from the request's first byte to the answer's last. From memory it is well below 1 ms.",
			Queries: []Query{{`region:redirect_duration_seconds:p99_5m{region=~"$region"}`, "{{region}}"}},
		},
	}}
}

func memory() Row {
	return Row{Title: "Caches", Panels: []Panel{
		{
			Title: "Hit rates", Unit: Share, About: "L1 is the edge's own memory, of all look-ups. L2 is the region's Redis, of what L1 had not.",
			Queries: []Query{{`region:cache_l1_hits:ratio5m{region=~"$region"}`, "L1 {{region}}"}, {`region:cache_l2_hits:ratio5m{region=~"$region"}`, "L2 {{region}}"}},
		},
		{
			Title: "Share that ends at the origin", Unit: Share, Limit: 0.01,
			About:   "Of all look-ups. More than 1 % means a cold or distrusted cache, or a flood of slugs that do not exist.",
			Queries: []Query{{`region:cache_origin_requests:ratio5m{region=~"$region"}`, "{{region}}"}},
		},
		{
			Title: "Memory for links against its budget", Unit: Share, Limit: 0.9,
			About:   "Full is no fault: the least wanted entries go. Full and a falling L1 hit rate is a reason for more.",
			Queries: []Query{{`max by (region) (instance:cache_l1_memory:ratio{region=~"$region"})`, "{{region}}"}},
		},
		{
			Title: "Stale answers", Unit: PerSecond, About: "Served past their time because neither Redis nor the origin answers. Visitors arrive; an edit would not be seen.",
			Queries: []Query{{`sum by (region) (rate(cache_stale_served_total{region=~"$region"}[1m]))`, "{{region}}"}},
		},
		{
			Title: "Questions held back from the origin", Unit: PerSecond, About: "Beyond the number that may be under way at once. Visitors get 503, Postgres its peace.",
			Queries: []Query{{`sum by (region) (rate(cache_origin_refused_total{region=~"$region"}[1m]))`, "{{region}}"}},
		},
		{
			Title: "Errors of the stores", Unit: PerSecond, About: "As the edges see them.",
			Queries: []Query{
				{`sum by (region) (rate(cache_l2_error_total{region=~"$region"}[1m]))`, "Redis {{region}}"},
				{`sum by (region) (rate(cache_origin_error_total{region=~"$region"}[1m]))`, "origin {{region}}"},
			},
		},
	}}
}

func freshness() Row {
	return Row{Title: "Freshness", Panels: []Panel{
		{
			Title: "Edit to announcement", Unit: Seconds, Limit: 0.05,
			About: "From the commit in Postgres to the published invalidation, slowest 1 % and median. 50 ms is promised.",
			Queries: []Query{
				{`region:propagation_seconds:p99_5m{region=~"$region"}`, "p99 {{region}}"},
				{`histogram_quantile(0.5, sum by (region, le) (rate(propagation_seconds_bucket{region=~"$region"}[5m])))`, "p50 {{region}}"},
			},
		},
		{
			Title: "Changelog records to go", Unit: Count, Limit: 1000, About: "How far a region's cacheupdater is behind the changelog.",
			Queries: []Query{{`max by (region) (changelog_lag_records{region=~"$region"})`, "{{region}}"}},
		},
		{
			Title: "Entries distrusted", Unit: PerSecond, Stacked: true,
			About:   "pubsub: edits. ttl: age. gap and reconnect: messages were lost or may have been, and everything in memory was dropped.",
			Queries: []Query{{`sum by (source) (rate(cache_invalidation_total{region=~"$region"}[1m]))`, "{{source}}"}},
		},
	}}
}

func counting() Row {
	return Row{Title: "Counting", Panels: []Panel{
		{
			Title: "Click ledger", Unit: PerSecond, About: "Over a time without a backlog the two are equal: each answered redirect is inserted, dead or dropped, and counted as that.",
			Queries: []Query{{`fleet:clicks_accepted:rate5m`, "accepted by edges"}, {`fleet:clicks_settled:rate5m`, "inserted, dead, dropped"}},
		},
		{
			Title: "Click to queryable", Unit: Seconds, Limit: 2, About: "Slowest 1 %. 2 s is promised.",
			Queries: []Query{{`fleet:clicks_ingest_lag_seconds:p99_5m`, "p99"}},
		},
		{
			Title: "Clicks lost or put aside", Unit: PerSecond, About: "Zero, or somebody should be looking at it. dead: could not be read, kept in the dead topic. vanished: inserted and not there.",
			Queries: []Query{
				{`sum by (reason) (rate(clicks_dropped_total{region=~"$region"}[5m]))`, "dropped: {{reason}}"},
				{`sum(rate(clicks_dead_total[5m]))`, "dead"},
				{`sum(rate(clicks_vanished_total[5m]))`, "vanished"},
			},
		},
	}}
}

func editors() Row {
	return Row{Title: "Editors and programs", Panels: []Panel{
		{
			Title: "API answers", Unit: PerSecond, Stacked: true, About: "Of the links service, by status.",
			Queries: []Query{{`sum by (status) (rate(http_request_duration_seconds_count{job="links"}[1m]))`, "{{status}}"}},
		},
		{
			Title: "API, slowest 1 %", Unit: Seconds, About: "By call.",
			Queries: []Query{{`route:http_request_duration_seconds:p99_5m`, "{{route}}"}},
		},
		{
			Title: "Refused by rate limits", Unit: PerSecond, About: "By policy: key is an API key's quota, address that of a caller without one, edge that of a visitor.",
			Queries: []Query{{`sum by (policy) (rate(ratelimit_rejected_total[1m]))`, "{{policy}}"}},
		},
	}}
}

// users is what the canary feels, which uses the system as a customer would.
func users() Row {
	return Row{Title: "The canary", Panels: []Panel{
		{
			Title: "Steps that failed", Unit: Count, About: "In five minutes. Every one is a promise that was not kept for a customer.",
			Queries: []Query{{`sum by (step) (increase(canary_failures_total[5m]))`, "{{step}}"}},
		},
		{
			Title: "The API, slowest 5 %", Unit: Seconds, About: "As a customer waits for it, through the public address.",
			Queries: []Query{{`histogram_quantile(0.95, sum by (step, le) (rate(canary_api_seconds_bucket[5m])))`, "{{step}}"}},
		},
		{
			Title: "Redirects, slowest 5 %", Unit: Seconds, About: "As a visitor waits for them. Half of them are first visits, which no memory knows.",
			Queries: []Query{{`histogram_quantile(0.95, sum by (edge, le) (rate(canary_redirect_seconds_bucket[5m])))`, "{{edge}}"}},
		},
		{
			Title: "From an edit to every edge, slowest 5 %", Unit: Seconds, Limit: 2, About: "From the answer of the API until the edge leads to the new target.",
			Queries: []Query{{`histogram_quantile(0.95, sum by (edge, le) (rate(canary_edit_live_seconds_bucket[5m])))`, "{{edge}}"}},
		},
		{
			Title: "From a removal to every edge, slowest 5 %", Unit: Seconds, Limit: 2, About: "Until the edge knows the link no more.",
			Queries: []Query{{`histogram_quantile(0.95, sum by (edge, le) (rate(canary_delete_gone_seconds_bucket[5m])))`, "{{edge}}"}},
		},
		{
			Title: "From a visit to analytics, slowest 5 %", Unit: Seconds, Limit: 10, About: "Until all visits of a round are counted, each once.",
			Queries: []Query{{`histogram_quantile(0.95, sum by (le) (rate(canary_click_counted_seconds_bucket[5m])))`, "counted"}},
		},
	}}
}
