package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/ports"
)

func TestBrokerIsChosenByName(t *testing.T) {
	check := func(text string, want plan.BrokerKind, wantErr string) {
		t.Helper()
		got, err := plan.ParseBrokerKind(text)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got != want || message != wantErr {
			t.Errorf("%q: got %v, %q; want %v, %q", text, got, message, want, wantErr)
		}
	}
	check("embedded", plan.EmbeddedBroker, "")
	check("kafka", plan.KafkaBroker, "")
	check("Kafka", 0, `"Kafka" is not known; "embedded" and "kafka" are`)
	check("", 0, `"" is not known; "embedded" and "kafka" are`)
}

func TestBrokersDifferInNothingThatOthersSee(t *testing.T) {
	broker := func(kind plan.BrokerKind) (plan.Process, plan.Plan) {
		p := newPlanWith(t, kind, map[string]string{"LINKSTREAM_PORT_BASE": "1000"})
		i := slices.IndexFunc(p.Processes, func(process plan.Process) bool { return process.Name == plan.Broker })
		return p.Processes[i], p
	}
	check := func(kind plan.BrokerKind, want plan.Process) plan.Plan {
		t.Helper()
		got, p := broker(kind)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", kind, diff)
		}
		return p
	}
	embedded := check(plan.EmbeddedBroker, plan.Process{
		Name: "broker", Kind: plan.KindBroker, Tier: plan.TierStore, Binary: "broker",
		Ports: []ports.Use{{Port: 20092, For: "broker"}},
		Ready: "127.0.0.1:20092", Data: "/r/data/broker",
	})
	apache := check(plan.KafkaBroker, plan.Process{
		Name: "broker", Kind: plan.KindKafka, Tier: plan.TierStore,
		Ports: []ports.Use{{Port: 20092, For: "broker"}, {Port: 20093, For: "broker"}},
		Ready: "127.0.0.1:20092", Data: "/r/data/kafka",
	})
	if embedded.KafkaBrokers != apache.KafkaBrokers {
		t.Errorf("%s and %s", embedded.KafkaBrokers, apache.KafkaBrokers)
	}
	if diff := cmp.Diff(embedded.Services(), apache.Services()); diff != "" {
		t.Error(diff)
	}
}
