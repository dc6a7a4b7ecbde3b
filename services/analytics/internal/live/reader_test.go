package live

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
)

// What was produced in the last minutes is read, and what comes after it, with what the
// ingester would say of it.
func TestClicksAreReadFromTheTopic(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, events.Clicks.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	produce := func(at time.Time, agent string) {
		t.Helper()
		value := events.AppendClick(nil, &events.Click{
			ID: [16]byte(uuid.New()), TimeUnixMicro: at.UnixMicro(), WorkspaceID: mine, LinkID: linkA, Host: "go.test", SlugKey: "launch", Status: 302,
			EdgeRegion: "fra", Address: []byte{192, 0, 2, 1}, UserAgent: []byte(agent), Referrer: []byte("https://news.example.com/x"), Query: []byte("utm_campaign=spring"),
		})
		record := &kgo.Record{Topic: events.Clicks.Name(""), Value: value, Timestamp: at}
		if err := producer.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	produce(now.Add(-time.Hour), "curl/8")
	produce(now, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1")
	if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: events.Clicks.Name(""), Value: []byte("no click")}).FirstErr(); err != nil {
		t.Fatal(err)
	}

	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	reader := NewReader(kafka.Options(broker.ListenAddrs(), "test", log), "", enrich.NewTables(), &enrich.Places{}, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	rows := make(chan enrich.Row, 10)
	done := make(chan error, 1)
	go func() {
		done <- reader.Read(ctx, now.Add(-Window), func(batch []enrich.Row, _ error) {
			for _, r := range batch {
				rows <- r
			}
		})
	}()
	if r := <-rows; r.Device != "mobile" || r.Bot || r.Referrer != "news.example.com" || r.Campaign.Name != "spring" || r.LinkID != linkA || r.EdgeRegion != "fra" {
		t.Errorf("the click of now is %+v", r)
	}
	produce(time.Now(), "curl/8")
	if r := <-rows; !r.Bot || r.Visitor == 0 {
		t.Errorf("the second one is %+v", r)
	}
	cancel()
	if err := <-done; err != nil || len(rows) != 0 {
		t.Errorf("ended with %v, and %d clicks nobody asked for", err, len(rows))
	}
}

func TestABrokerThatIsAwayIsNoticed(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, events.Clicks.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader(kafka.Options(broker.ListenAddrs(), "test", slog.New(slog.DiscardHandler)), "", enrich.NewTables(), &enrich.Places{}, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	states := make(chan error, 100)
	done := make(chan error, 1)
	go func() {
		done <- reader.Read(ctx, time.Now().Add(-Window), func(_ []enrich.Row, err error) { states <- err })
	}()
	if err := <-states; err != nil {
		t.Errorf("with a broker: %v", err)
	}
	broker.Close()
	facttest.Eventually(t, "the outage is noticed", func() bool {
		select {
		case err := <-states:
			return err != nil
		default:
			return false
		}
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
