package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"

	"labbot/k8s/fault"
)

// client-go's default of 5 requests a second delays watches under load; these
// are per cluster, all runs together.
const (
	qps   = 50
	burst = 100
)

// callWithin ends any single request but a watch, whoever forgot a deadline.
const callWithin = 30 * time.Second

// Options says which cluster to open, and how.
type Options struct {
	// Kubeconfig is a file; empty means $KUBECONFIG or ~/.kube/config.
	Kubeconfig string
	// Context is a context of the kubeconfig; empty means its current one.
	Context string
	// InCluster uses the Pod's service account instead of a kubeconfig.
	InCluster bool
	// ExecPlugins are the credential plugins that the kubeconfig may run, by
	// command. Any other is refused.
	ExecPlugins []string
	// Version of the bot, for the user agent.
	Version string
}

// place is what may be told of a kubeconfig: never a credential.
type place struct{ context, cluster, server string }

type clients struct {
	place   place
	config  *rest.Config
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	// unhurried asks for the pulse, past the shared rate limit: waiting in our
	// own queue must not look like the cluster's silence.
	unhurried rest.Interface
}

func newClients(o Options) (*clients, error) {
	config, where, err := load(o)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = qps, burst
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst)
	config.UserAgent = fault.FieldManager + "/" + botVersion(o)
	config.WarningHandler = rest.NoWarnings{} // Pod Security warnings are the learner's, not the operator's
	c := &clients{place: where, config: config}
	if c.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", where.server, err)
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", where.server, err)
	}
	free := rest.CopyConfig(config)
	free.RateLimiter, free.QPS = nil, -1
	plain, err := kubernetes.NewForConfig(free)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", where.server, err)
	}
	c.unhurried = plain.Discovery().RESTClient()
	return c, nil
}

func botVersion(o Options) string {
	if o.Version == "" {
		return "devel"
	}
	return o.Version
}

func load(o Options) (*rest.Config, place, error) {
	if o.InCluster {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, place{}, fmt.Errorf("use the Pod's service account: %w", err)
		}
		return config, place{context: "in-cluster", cluster: "in-cluster", server: shown(config.Host)}, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, place{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	name := o.Context
	if name == "" {
		name = raw.CurrentContext
	}
	entry := raw.Contexts[name]
	if entry == nil {
		return nil, place{}, fmt.Errorf("kubeconfig %s has no context %q; it has: %s", origin(o, rules), name, contexts(raw))
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, place{}, fmt.Errorf("read context %q of the kubeconfig: %w", name, err)
	}
	if err := confine(config, o.ExecPlugins); err != nil {
		return nil, place{}, fmt.Errorf("context %q: %w", name, err)
	}
	return config, place{context: name, cluster: entry.Cluster, server: shown(config.Host)}, nil
}

func origin(o Options, rules *clientcmd.ClientConfigLoadingRules) string {
	if o.Kubeconfig != "" {
		return o.Kubeconfig
	}
	return strings.Join(rules.Precedence, ", ")
}

func contexts(raw api.Config) string {
	if len(raw.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// confine lets a kubeconfig run only the credential plugins named. A plugin is a
// program of the kubeconfig's choice, with the bot's rights on this machine.
func confine(config *rest.Config, allowed []string) error {
	if config.ExecProvider == nil {
		return nil
	}
	policy := api.PluginPolicy{PolicyType: api.PluginPolicyDenyAll}
	for _, command := range allowed {
		policy.PolicyType = api.PluginPolicyAllowlist
		policy.Allowlist = append(policy.Allowlist, api.AllowlistEntry{Command: command})
	}
	config.ExecProvider.PluginPolicy = policy
	if policy.PolicyType == api.PluginPolicyDenyAll {
		return fmt.Errorf("the kubeconfig gets its credentials from the program %q, and no credential plugin is allowed; name it as an allowed one", config.ExecProvider.Command)
	}
	return nil
}

// shown is an API address without a password that somebody may have put in it.
func shown(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return host
	}
	u.User = nil
	return u.String()
}

// answers gives nil when the API server gave any answer of its own. The
// namespace is read from storage, so a server that has lost its etcd counts as
// silent: its watches would stand still without a word.
func (c *clients) answers(ctx context.Context) error {
	err := c.unhurried.Get().AbsPath("/api/v1/namespaces/kube-system").Do(ctx).Error()
	if err == nil || !fault.Unreachable(err) {
		return nil
	}
	return err
}

// bind returns a client whose requests end with ctx, for kubectl's code, which
// takes no context of ours.
func (c *clients) bind(ctx context.Context) (fault.Bound, error) {
	config, leash := c.bound(ctx)
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fault.Bound{}, fmt.Errorf("make a client for %s: %w", c.place.server, err)
	}
	return fault.Bound{Interface: typed, Trouble: leash.trouble}, nil
}

// bound copies the configuration with every request tied to ctx. The connection
// underneath stays the shared one.
func (c *clients) bound(ctx context.Context) (*rest.Config, *leash) {
	l := &leash{ctx: ctx}
	config := rest.CopyConfig(c.config)
	config.Timeout = callWithin
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		l.next = next
		return l
	})
	return config, l
}

// version asks for the server's gitVersion.
func (c *clients) version(ctx context.Context) (string, error) {
	raw, err := c.unhurried.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var info apiversion.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", fmt.Errorf("the answer is no version: %w", err)
	}
	return info.GitVersion, nil
}
