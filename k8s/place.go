package k8s

// Place names the context and the API server that the configuration points to,
// without asking the cluster.
func (c *Cluster) Place() (kubeContext, server string) {
	return c.clients.place.context, c.clients.place.server
}
