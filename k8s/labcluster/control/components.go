package control

import (
	"fmt"
	"os"
	"path/filepath"
)

// Component is one process of the control plane.
type Component struct {
	Name   string
	Args   []string
	Env    []string
	Health string // URL that answers 200 when it is ready
}

// Components lists the control plane in the order of its start.
func (p *Plan) Components() ([]Component, error) {
	api, err := p.apiserver()
	if err != nil {
		return nil, err
	}
	return []Component{p.etcd(), api, p.controllerManager(), p.scheduler()}, nil
}

func (p *Plan) etcd() Component {
	return Component{
		Name: "etcd",
		Args: []string{
			"--name=lab", "--data-dir=" + filepath.Join(p.Dir, "etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=lab=http://127.0.0.1:2380",
			// A lab may lose its last second when the machine loses power.
			"--unsafe-no-fsync",
			"--snapshot-count=5000", "--auto-compaction-mode=periodic", "--auto-compaction-retention=5m",
			"--quota-backend-bytes=536870912", "--log-level=warn",
		},
		Env:    []string{"GOMEMLIMIT=120MiB", "GOGC=50"},
		Health: "http://127.0.0.1:2379/health",
	}
}

func (p *Plan) apiserver() (Component, error) {
	c := Component{
		Name: "kube-apiserver",
		Args: []string{
			"--etcd-servers=http://127.0.0.1:2379",
			fmt.Sprintf("--secure-port=%d", APIPort), "--bind-address=0.0.0.0", "--advertise-address=" + p.Address,
			"--service-cluster-ip-range=" + ServiceCIDR,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--client-ca-file=" + p.ca.CertFile(),
			"--tls-cert-file=" + p.serving.Cert, "--tls-private-key-file=" + p.serving.Key,
			"--kubelet-client-certificate=" + p.kubeletClient.Cert, "--kubelet-client-key=" + p.kubeletClient.Key,
			"--kubelet-certificate-authority=" + p.ca.CertFile(),
			"--kubelet-preferred-address-types=InternalIP,Hostname",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + p.signing.Cert, "--service-account-signing-key-file=" + p.signing.Key,
			"--requestheader-client-ca-file=" + p.frontProxy.CertFile(), "--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + p.proxyClient.Cert, "--proxy-client-key-file=" + p.proxyClient.Key,
			"--enable-aggregator-routing=true", "--profiling=false", "--cert-dir=" + p.pkiDir(),
		},
		Env:    []string{"GOMEMLIMIT=320MiB", "GOGC=50"},
		Health: p.Endpoint() + "/readyz",
	}
	if p.Audit {
		policy, err := p.writeAuditPolicy()
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args, "--audit-policy-file="+policy, "--audit-log-path="+filepath.Join(p.Dir, "logs", "audit.log"),
			"--audit-log-maxsize=20", "--audit-log-maxbackup=2")
	}
	return c, nil
}

func (p *Plan) controllerManager() Component {
	k := p.Kubeconfig("controller-manager")
	return Component{
		Name: "kube-controller-manager",
		Args: []string{
			"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
			"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false", "--cert-dir=" + p.pkiDir(),
			"--use-service-account-credentials=true", "--root-ca-file=" + p.ca.CertFile(),
			"--service-account-private-key-file=" + p.signing.Key,
			"--allocate-node-cidrs=true", "--cluster-cidr=" + PodCIDR, "--service-cluster-ip-range=" + ServiceCIDR,
			"--cluster-name=lab",
			// Nodes of this cluster do not join by a bootstrap token.
			"--controllers=*,-bootstrap-signer-controller,-token-cleaner-controller",
		},
		Env:    []string{"GOMEMLIMIT=160MiB", "GOGC=50"},
		Health: "https://127.0.0.1:10257/healthz",
	}
}

func (p *Plan) scheduler() Component {
	k := p.Kubeconfig("scheduler")
	return Component{
		Name: "kube-scheduler",
		Args: []string{
			"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
			"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false", "--cert-dir=" + p.pkiDir(),
		},
		Env:    []string{"GOMEMLIMIT=120MiB", "GOGC=50"},
		Health: "https://127.0.0.1:10259/healthz",
	}
}

// auditPolicy records who changed what, without the reads and without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
- level: None
  userGroups: ["system:nodes"]
- level: None
  verbs: [get, list, watch]
- level: Metadata
`

func (p *Plan) writeAuditPolicy() (string, error) {
	path := filepath.Join(p.Dir, "audit-policy.yaml")
	if err := os.WriteFile(path, []byte(auditPolicy), 0o600); err != nil {
		return "", fmt.Errorf("audit policy: %w", err)
	}
	return path, nil
}
