package k8s

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/k8s/clustertest"
	"labbot/scenarios/engine"
)

// bench is a run on a real cluster: the bot with only the rights that it asks
// for, and beside it an administrator, who stands for the class.
type bench struct {
	*testing.T
	bot        *Cluster
	kubeconfig string // the bot's
	admin      kubernetes.Interface
	meta       run.Meta
}

// newBench opens the cluster for a run with a namespace of its own, and removes
// the namespace afterwards, however the test ended.
func newBench(t *testing.T) *bench {
	t.Helper()
	path := clustertest.Kubeconfig(t)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	limited := restricted(t, path, admin)
	bot, err := Open(Options{Kubeconfig: limited, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	id := lab.NewRunID()
	b := &bench{T: t, bot: bot, kubeconfig: limited, admin: admin, meta: run.Meta{
		Run: id, Cohort: "cohort 1", Scenario: "break-image", Namespace: "lab-" + strings.ReplaceAll(string(id), "_", "-"), Expires: time.Now().Add(time.Hour),
	}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := admin.CoreV1().Namespaces().Delete(ctx, b.meta.Namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("remove namespace %s: %v", b.meta.Namespace, err)
		}
	})
	return b
}

// do makes attempts at an intent until it is decided, as a run does: pending and
// unreachable both ask for another attempt.
func (b *bench) do(in engine.Intent, within time.Duration) engine.Result {
	b.Helper()
	var r engine.Result
	var said string
	b.wait(within, string(in.Kind)+" to end", func() bool {
		r = b.bot.Do(b.Context(), b.meta, in)
		open := r.Status == engine.ResultPending || r.Status == engine.ResultUnreachable
		if open && r.Message != said {
			said = r.Message
			b.Logf("%s: %s: %s", in.Kind, r.Status, said)
		}
		return !open
	})
	return r
}

// must is do for an intent that has to succeed.
func (b *bench) must(in engine.Intent, within time.Duration) engine.Result {
	b.Helper()
	r := b.do(in, within)
	if r.Status != engine.ResultDone {
		b.Fatalf("%s = %s %s: %s", in.Kind, r.Status, r.Reason, r.Message)
	}
	return r
}

// wait polls until a condition holds, and fails the test if it does not in time.
func (b *bench) wait(within time.Duration, what string, holds func() bool) {
	b.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-end.C:
			b.Fatalf("waited %s in vain for %s", within, what)
		case <-tick.C:
		}
	}
}

func (b *bench) watch(watches ...engine.Watch) run.Lens {
	b.Helper()
	l, err := b.bot.Watch(b.Context(), b.meta, watches, func() {})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.Close)
	return l
}

func (b *bench) createNamespace() engine.Intent {
	return engine.Intent{ID: "prepare/ns", Kind: engine.ActCreateNamespace, CreateNamespace: &engine.CreateNamespace{Name: b.meta.Namespace}}
}

func (b *bench) deleteNamespace(uid string) engine.Intent {
	return engine.Intent{ID: "cleanup/wipe", Kind: engine.ActDeleteNamespace, DeleteNamespace: &engine.DeleteNamespace{Name: b.meta.Namespace, UID: uid}}
}

func (b *bench) proof() engine.Intent {
	return engine.Intent{ID: "cleanup/proof", Kind: engine.ActGet, Get: &engine.Get{Target: engine.Ref{APIVersion: "v1", Kind: "Namespace", Name: b.meta.Namespace}}}
}

func (b *bench) createWeb() engine.Intent {
	return engine.Intent{ID: "prepare/create", Kind: engine.ActCreateDeployment, CreateDeployment: &engine.CreateDeployment{Name: "web", Image: "nginx:1.29-alpine", Replicas: 2}}
}

func (b *bench) web(uid string) engine.Ref {
	return engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: b.meta.Namespace, Name: "web", UID: uid}
}

// The views of break-image.
var (
	deployView = engine.Watch{As: "deploy", APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	rsView     = engine.Watch{As: "rs", APIVersion: "apps/v1", Kind: "ReplicaSet", Selector: "app=web", List: true}
	podsView   = engine.Watch{As: "pods", APIVersion: "v1", Kind: "Pod", Selector: "app=web", List: true}
	nsView     = func(b *bench) engine.Watch {
		return engine.Watch{As: "ns", APIVersion: "v1", Kind: "Namespace", Name: b.meta.Namespace}
	}
)

// field reads a string or number of an object by its path.
func field[T any](o map[string]any, path ...string) T {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	t, _ := v.(T)
	return t
}

// restricted writes a kubeconfig of a service account that has the rights of
// testdata/rbac.yaml and no more.
func restricted(t *testing.T, path string, admin kubernetes.Interface) string {
	t.Helper()
	ctx, ns := t.Context(), "labbot-system"
	_, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
	tolerate(t, err)
	_, err = admin.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "labbot-test"}}, metav1.CreateOptions{})
	tolerate(t, err)
	for _, role := range roles(t) {
		_, err := admin.RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = admin.RbacV1().ClusterRoles().Update(ctx, &role, metav1.UpdateOptions{})
		}
		tolerate(t, err)
		_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "labbot-test"}},
		}, metav1.CreateOptions{})
		tolerate(t, err)
	}
	token, err := admin.CoreV1().ServiceAccounts(ns).CreateToken(ctx, "labbot-test", &authv1.TokenRequest{}, metav1.CreateOptions{})
	tolerate(t, err)
	config, err := clientcmd.LoadFromFile(path)
	tolerate(t, err)
	config.AuthInfos = map[string]*api.AuthInfo{config.Contexts[config.CurrentContext].AuthInfo: {Token: token.Status.Token}}
	out := filepath.Join(t.TempDir(), "kubeconfig")
	tolerate(t, clientcmd.WriteToFile(*config, out))
	return out
}

// tolerate ends the test on any error but that the object is there already.
func tolerate(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func roles(t *testing.T) []rbacv1.ClusterRole {
	t.Helper()
	raw, err := os.ReadFile("testdata/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []rbacv1.ClusterRole
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		var role rbacv1.ClusterRole
		if err := d.Decode(&role); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		// Names of the tests' own: a labbot installed on the cluster keeps its roles.
		role.Name = strings.Replace(role.Name, "labbot-", "labbot-test-", 1)
		all = append(all, role)
	}
}
