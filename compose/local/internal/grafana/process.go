package grafana

// Process is how each process does.
func Process() Dashboard {
	const chosen = `job=~"$job",instance=~"$instance"`
	return Dashboard{
		UID: "linkstream-processes", Title: "linkstream: processes",
		About: "Which process is in trouble, once the regions say that one is.",
		Variables: []Variable{
			{Name: "job", Label: "Service", Metric: "build_info"}, {Name: "instance", Label: "Process", Metric: "build_info"},
		},
		Rows: []Row{
			{Title: "All", Panels: []Panel{
				{
					Title: "Processor", Unit: Share, About: "Of one processor: 2 is two of them busy.",
					Queries: []Query{{`rate(process_cpu_seconds_total{` + chosen + `}[1m])`, "{{job}} {{instance}}"}},
				},
				{
					Title: "Memory", Unit: Bytes, About: "Resident.",
					Queries: []Query{{`process_resident_memory_bytes{` + chosen + `}`, "{{job}} {{instance}}"}},
				},
				{
					Title: "Goroutines", Unit: Count, About: "Steady under steady load. A line that only climbs is a leak.",
					Queries: []Query{{`go_goroutines{` + chosen + `}`, "{{job}} {{instance}}"}},
				},
				{
					Title: "Open files", Unit: Share, Limit: 0.8, About: "Connections included, of what the system allows the process.",
					Queries: []Query{{`process_open_fds{` + chosen + `} / process_max_fds{` + chosen + `}`, "{{job}} {{instance}}"}},
				},
				{
					Title: "Answers on the admin port", Unit: Count, About: "1: scraped. 0: gone, or cut off from Prometheus.",
					Queries: []Query{{`up{` + chosen + `}`, "{{job}} {{instance}}"}},
				},
				{
					Title: "Garbage collection, longest stop", Unit: Seconds, About: "In the last minutes, of all goroutines at once.",
					Queries: []Query{{`go_gc_duration_seconds{quantile="1",` + chosen + `}`, "{{job}} {{instance}}"}},
				},
			}},
			{Title: "Edges", Panels: []Panel{
				{
					Title: "Memory for links", Unit: Bytes, About: "By the entries' own account, beside the budget.",
					Queries: []Query{{`cache_l1_memory_bytes{` + chosen + `}`, "{{instance}}"}, {`cache_l1_budget_bytes{` + chosen + `}`, "{{instance}} budget"}},
				},
				{
					Title: "Clicks in the journal", Unit: Count, About: "Answered and not yet taken by the broker. They survive a kill.",
					Queries: []Query{{`clicks_journal_clicks{` + chosen + `}`, "{{instance}}"}},
				},
				{
					Title: "Oldest click in the journal", Unit: Seconds, Limit: 30, About: "How long the broker has not taken anything.",
					Queries: []Query{{`clicks_journal_oldest_seconds{` + chosen + `}`, "{{instance}}"}},
				},
			}},
			{Title: "links", Panels: []Panel{
				{
					Title: "Outbox", Unit: Count, Limit: 1000, About: "Edits that the changelog does not have yet.",
					Queries: []Query{{`outbox_pending{` + chosen + `}`, "{{instance}}"}},
				},
				{
					Title: "Relayed", Unit: PerSecond, About: "One process relays at a time.",
					Queries: []Query{
						{`rate(outbox_published_total{` + chosen + `}[1m])`, "{{instance}}"},
						{`sum by (reason) (rate(outbox_errors_total{` + chosen + `}[1m]))`, "errors: {{reason}}"},
					},
				},
				{
					Title: "Purge and pre-warm", Unit: Seconds, About: "Until every live edge had confirmed, slowest 1 %.",
					Queries: []Query{{`histogram_quantile(0.99, sum by (kind, le) (rate(edge_command_duration_seconds_bucket[5m])))`, "{{kind}}"}},
				},
			}},
			{Title: "cacheupdater and clicks", Panels: []Panel{
				{
					Title: "Changelog applied", Unit: PerSecond, About: "Stale: a newer record was there already, which is how replays are harmless.",
					Queries: []Query{
						{`rate(changelog_applied_total{` + chosen + `}[1m])`, "{{instance}}"},
						{`rate(changelog_stale_skipped_total{` + chosen + `}[1m])`, "{{instance}} stale"},
						{`rate(changelog_unreplicated_total{` + chosen + `}[1m])`, "{{instance}} not confirmed by a replica"},
					},
				},
				{
					Title: "Clicks inserted", Unit: PerSecond, About: "Deduplicated: inserted again after an unknown outcome, and recognised.",
					Queries: []Query{
						{`rate(clicks_inserted_total{` + chosen + `}[1m])`, "{{instance}}"},
						{`rate(clicks_deduplicated_total{` + chosen + `}[1m])`, "{{instance}} deduplicated"},
					},
				},
				{
					Title: "Tokens left in buckets", Unit: Count, About: "Median over limited calls: near zero means that callers live at their limit.",
					Queries: []Query{{`histogram_quantile(0.5, sum by (policy, le) (rate(ratelimit_tokens_remaining_bucket[5m])))`, "{{policy}}"}},
				},
			}},
			{Title: "webhooks", Panels: []Panel{
				{
					Title: "Deliveries", Unit: PerSecond, About: "Attempts, by what became of the delivery.",
					Queries: []Query{{`sum by (result) (rate(webhook_attempts_total{` + chosen + `}[1m]))`, "{{result}}"}},
				},
				{
					Title: "Deliveries that wait", Unit: Count, About: "Pauses after failed attempts included.",
					Queries: []Query{{`webhook_queue_pending{` + chosen + `}`, "{{instance}}"}},
				},
				{
					Title: "Due and not delivered", Unit: Seconds, Limit: 60, About: "For how long the one has been due that has been due longest.",
					Queries: []Query{{`webhook_queue_age_seconds{` + chosen + `}`, "{{instance}}"}},
				},
			}},
		},
	}
}
