package apply

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// shard is one primary and where its entries are.
type shard struct {
	primary redis.Cmdable
	key     string
}

// maxGenerationKeys bounds the search for a key that a primary holds. A primary of a
// single slot of 16,384 is missed once in nine million times.
const maxGenerationKeys = 1 << 18

var errNoPrimaries = errors.New("the cluster names no primaries, or one that no key is found for")

// shards are the primaries that answer now, always in the same order: one, or those
// of the cluster, each with the first of the numbered keys that it holds. The map of
// the cluster is asked for anew, so that a primary that was added or took over is
// not overlooked.
func (g generation) shards(ctx context.Context) ([]shard, error) {
	cluster, ok := g.client.(*redis.ClusterClient)
	if !ok {
		return []shard{{primary: g.client, key: linkcache.GenerationKey}}, nil
	}
	var mu sync.Mutex
	missing := map[*redis.Client]bool{}
	err := cluster.ForEachMaster(ctx, func(_ context.Context, primary *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		missing[primary] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := make([]shard, 0, len(missing))
	for n := 0; len(missing) > 0 && n < maxGenerationKeys; n++ {
		key := linkcache.ClusterGenerationKey(n)
		primary, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		if missing[primary] {
			delete(missing, primary)
			found = append(found, shard{primary: primary, key: key})
		}
	}
	if len(missing) > 0 || len(found) == 0 {
		return nil, errNoPrimaries
	}
	return found, nil
}
