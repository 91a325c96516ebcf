package evidence

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// retryEvery are the pauses between attempts to list again. client-go's own
// grow to a minute, which a class would wait through after a short outage.
var retryEvery = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 2 * time.Second}

// retryReset is how long a watch must have held for the pauses to start over.
const retryReset = 10 * time.Second

// feed keeps a store in step with one resource through client-go's Reflector.
type feed struct {
	reflector *cache.Reflector
	health    *health
}

// newFeed watches objects, or with a name only the one of that name. The
// namespace need not exist, and may go and come back: its list is then empty.
func newFeed(src Source, name string, objects dynamic.ResourceInterface, only string, store cache.ReflectorStore) *feed {
	f := &feed{health: &health{}}
	narrow := func(o metav1.ListOptions) metav1.ListOptions {
		if only != "" {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", only).String()
		}
		return o
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.List(ctx, narrow(o))
			f.health.saw(ctx, err)
			if err != nil {
				return nil, plain(err)
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := objects.Watch(ctx, narrow(o))
			f.health.saw(ctx, err)
			if err != nil {
				return nil, plain(err)
			}
			return w, nil
		},
	}
	backoff, quiet := retryEvery, klog.Logger{}
	f.reflector = cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, src.Dynamic), &unstructured.Unstructured{}, store,
		cache.ReflectorOptions{Name: "labbot-" + name, TypeDescription: name, Backoff: &backoff, Logger: &quiet})
	return f
}

// run watches until ctx ends. It is Reflector.Run without client-go's log of
// errors, which the readings tell.
func (f *feed) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.Logger{})
	_ = retryEvery.DelayWithReset(clock.RealClock{}, retryReset).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := f.reflector.ListAndWatchWithContext(ctx); err != nil {
			f.health.saw(ctx, err)
		}
		return false, nil
	})
}

// plain hides from the Reflector that a request was refused or turned away. It
// would retry inside, waiting in a way that Close cannot end; this way it lists
// anew, at our own pace. Answers about the resourceVersion pass: they tell it
// how to list.
func plain(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && !apierrors.IsTooManyRequests(err) {
		return err
	}
	return errors.New(err.Error())
}

// health is how one feed's requests fare.
type health struct {
	mu   sync.Mutex
	err  error
	from time.Time // of the first failure in a row
}

func (h *health) saw(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.err, h.from = nil, time.Time{}
	case ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		// Closing, or a list asked from too old a version: the next one tells.
	case h.err == nil:
		h.err, h.from = err, time.Now()
	default:
		h.err = err
	}
}

// trouble gives the error that has lasted, and the newest one of all.
func (h *health) trouble(now time.Time) (lasting, newest error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil && now.Sub(h.from) > grace {
		lasting = h.err
	}
	return lasting, h.err
}
