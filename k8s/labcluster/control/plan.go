// Package control knows how the components of the control plane are started:
// their certificates, their kubeconfigs and their flags.
package control

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"labbot/k8s/labcluster/pki"
)

// The addresses of every lab cluster; they live in its own network namespace.
const (
	PodCIDR     = "10.244.0.0/16"
	ServiceCIDR = "10.96.0.0/16"
	ServiceIP   = "10.96.0.1"
	DNSIP       = "10.96.0.10"
	APIPort     = 6443
	// GatePort holds the connections of the components back until the API server
	// is ready, so that none of them falls into a long back-off at the start.
	GatePort = 6444
	Context  = "k8slab@lab"
)

// NodeIP is the address of the i-th node, from 0.
func NodeIP(i int) string { return fmt.Sprintf("172.30.0.%d", 11+i) }

// Plan holds the files of one cluster.
type Plan struct {
	Dir     string
	Address string // of the first node
	Audit   bool

	ca, frontProxy *pki.Authority
	serving        pki.Pair
	kubeletClient  pki.Pair
	proxyClient    pki.Pair
	signing        pki.Pair
}

func (p *Plan) pkiDir() string { return filepath.Join(p.Dir, "pki") }

// NewPlan makes or reads the authorities and issues the certificates.
func NewPlan(dir, address string) (*Plan, error) {
	p := &Plan{Dir: dir, Address: address}
	for _, d := range []string{p.pkiDir(), p.kubeconfigDir()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("cluster folder: %w", err)
		}
	}
	var err error
	if p.ca, err = pki.Open(p.pkiDir(), "ca"); err != nil {
		return nil, err
	}
	if p.frontProxy, err = pki.Open(p.pkiDir(), "front-proxy-ca"); err != nil {
		return nil, err
	}
	if p.signing, err = pki.SigningKey(p.pkiDir()); err != nil {
		return nil, err
	}
	if p.serving, err = p.ca.Issue("apiserver", pki.Leaf{CommonName: "kube-apiserver", Hosts: []string{
		"127.0.0.1", "localhost", address, ServiceIP, "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}}); err != nil {
		return nil, err
	}
	if p.kubeletClient, err = p.ca.Issue("apiserver-kubelet-client", pki.Leaf{
		CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}); err != nil {
		return nil, err
	}
	p.proxyClient, err = p.frontProxy.Issue("front-proxy-client", pki.Leaf{CommonName: "front-proxy-client"})
	return p, err
}

// CACert is the certificate every client trusts.
func (p *Plan) CACert() string { return p.ca.CertFile() }

func (p *Plan) kubeconfigDir() string { return filepath.Join(p.Dir, "kubeconfigs") }

// Kubeconfig is the path of a component's kubeconfig.
func (p *Plan) Kubeconfig(name string) string {
	return filepath.Join(p.kubeconfigDir(), name+".kubeconfig")
}

// Endpoint is where the API server listens inside the cluster's namespace.
func (p *Plan) Endpoint() string { return fmt.Sprintf("https://%s:%d", p.Address, APIPort) }

// Gate is where the components reach the API server.
func (p *Plan) Gate() string { return fmt.Sprintf("https://%s:%d", p.Address, GatePort) }

// WriteKubeconfig makes a client certificate and a kubeconfig around it.
func (p *Plan) WriteKubeconfig(name string, who pki.Leaf) error {
	pair, err := p.ca.Issue(name, who)
	if err != nil {
		return err
	}
	cfg, err := p.kubeconfig(p.Gate(), pair, who.CommonName, who.CommonName+"@lab")
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(*cfg, p.Kubeconfig(name))
}

// WriteUserKubeconfig writes DIR/kubeconfig for people, over the forwarded port.
func (p *Plan) WriteUserKubeconfig(port int) (string, error) {
	pair, err := p.ca.Issue("k8slab", pki.Leaf{CommonName: "k8slab", Organization: []string{"system:masters"}})
	if err != nil {
		return "", err
	}
	cfg, err := p.kubeconfig(fmt.Sprintf("https://127.0.0.1:%d", port), pair, "k8slab", Context)
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.Dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*cfg, path)
}

func (p *Plan) kubeconfig(server string, pair pki.Pair, user, context string) (*clientcmdapi.Config, error) {
	ca, err := os.ReadFile(p.CACert())
	if err != nil {
		return nil, err
	}
	crt, err := os.ReadFile(pair.Cert)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(pair.Key)
	if err != nil {
		return nil, err
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["lab"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: crt, ClientKeyData: key}
	cfg.Contexts[context] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: user}
	cfg.CurrentContext = context
	return cfg, nil
}

// WriteComponentKubeconfigs covers controller-manager, scheduler and the admin inside.
func (p *Plan) WriteComponentKubeconfigs() error {
	for name, who := range map[string]pki.Leaf{
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"scheduler":          {CommonName: "system:kube-scheduler"},
		"admin":              {CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
	} {
		if err := p.WriteKubeconfig(name, who); err != nil {
			return err
		}
	}
	return nil
}

// WriteNode makes what one kubelet needs and returns its serving certificate.
func (p *Plan) WriteNode(name, ip string) (pki.Pair, error) {
	if err := p.WriteKubeconfig("kubelet-"+name, pki.Leaf{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}); err != nil {
		return pki.Pair{}, err
	}
	return p.ca.Issue("kubelet-"+name+"-serving", pki.Leaf{
		CommonName: "system:node:" + name, Organization: []string{"system:nodes"}, Hosts: []string{name, ip},
	})
}
