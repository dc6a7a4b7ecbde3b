package plan

import "fmt"

// BrokerKind tells which program is the process named Broker.
type BrokerKind int

// The kinds of brokers. The embedded one is the default.
const (
	EmbeddedBroker BrokerKind = iota
	KafkaBroker
)

// BrokerKinds are all of them.
func BrokerKinds() []BrokerKind { return []BrokerKind{EmbeddedBroker, KafkaBroker} }

// String is the name by which a person chooses the kind.
func (k BrokerKind) String() string {
	switch k {
	case EmbeddedBroker:
		return "embedded"
	case KafkaBroker:
		return "kafka"
	}
	return fmt.Sprintf("broker kind %d", int(k))
}

// ParseBrokerKind reads what String writes.
func ParseBrokerKind(text string) (BrokerKind, error) {
	for _, kind := range BrokerKinds() {
		if text == kind.String() {
			return kind, nil
		}
	}
	return 0, fmt.Errorf("%q is not known; \"embedded\" and \"kafka\" are", text)
}

// BrokerData is where a broker of this kind keeps its data: apart, since neither can read the other's.
func (s Settings) BrokerData(k BrokerKind) string {
	if k == KafkaBroker {
		return s.data("kafka")
	}
	return s.data(Broker)
}

// addBroker gives any broker the same name and the same port for clients, so that nobody else has to know which it is.
func (p *Plan) addBroker() {
	process := Process{Name: Broker, Ready: p.KafkaBrokers, Data: p.Settings.BrokerData(p.Settings.Broker)}
	switch p.Settings.Broker {
	case EmbeddedBroker:
		process.Kind, process.Binary = KindBroker, "broker"
		p.store(process, portBroker)
	case KafkaBroker:
		process.Kind = KindKafka
		p.store(process, portBroker, portController)
	}
}
