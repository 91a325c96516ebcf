package k8s

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubectl/pkg/describe"
)

// described is a Pod with the variables, in kubectl's own words.
func described(t *testing.T, env ...corev1.EnvVar) string {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "k8s-m01", Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "web", Image: "nginx", Env: env},
			{Name: "side", Image: "nginx", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "second-secret"}, {Name: "MODE", Value: "plain"}}},
		}},
	}
	text, err := (&describe.PodDescriber{Interface: fake.NewClientset(pod)}).Describe("k8s-m01", "web", describe.DescriberSettings{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMaskTakesSecretsOutOfADescription(t *testing.T) {
	text := described(t,
		corev1.EnvVar{Name: "DB_PASSWORD", Value: "hunter2"},
		corev1.EnvVar{Name: "TLS_PRIVATE_KEY", Value: "-----BEGIN\nline-two\n\nline-four: with colon\n-----END"},
		corev1.EnvVar{Name: "API-TOKEN", Value: "tok-1"},
		corev1.EnvVar{Name: "LEVEL", Value: "debug: yes"},
		corev1.EnvVar{Name: "MONKEY", Value: "banana"},
		corev1.EnvVar{Name: "EMPTY_SECRET", Value: ""},
		corev1.EnvVar{Name: "REF_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password"}}},
	)
	got := mask(text)
	for _, secret := range []string{"hunter2", "BEGIN", "line-two", "line-four", "END", "tok-1", "second-secret"} {
		if !strings.Contains(text, secret) {
			t.Fatalf("the description lacks %q, so the test shows nothing:\n%s", secret, text)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%q is still there:\n%s", secret, got)
		}
	}
	for _, kept := range []string{"debug: yes", "banana", "plain", "EMPTY_SECRET", "<set to the key 'password' in secret 'db'>", "DB_PASSWORD:", "Mounts:", "QoS Class:", "side:"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
	if n := strings.Count(got, masked); n != 4 {
		t.Errorf("%d values masked, want 4:\n%s", n, got)
	}
}

func TestMaskLeavesOtherTextAlone(t *testing.T) {
	text := "Name:  web\nAnnotations:  token: abc\n  Type    Reason\n  Normal  Pulled  secret: yes\n"
	if got := mask(text); got != text {
		t.Errorf("mask changed:\n%s", got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("    Environment:\n      PASSWORD:  x\n      A:  b\n    Mounts:  <none>\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := mask(text); strings.Count(got, "\n") > strings.Count(text, "\n")+1 {
			t.Errorf("mask added lines to %q", text)
		}
	})
}
