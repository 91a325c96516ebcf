package evidence

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectStore holds the objects of one resource, already trimmed. It fulfils
// cache.ReflectorStore. The objects in it are never written to.
type objectStore struct {
	changed func()

	mu      sync.RWMutex
	synced  bool
	objects map[string]*unstructured.Unstructured // by namespace/name
}

func newObjectStore(changed func()) *objectStore {
	return &objectStore{changed: changed, objects: map[string]*unstructured.Unstructured{}}
}

func key(namespace, name string) string { return namespace + "/" + name }

// Add takes a new object in.
func (s *objectStore) Add(obj any) error { return s.Update(obj) }

// Update takes the newer form of an object in.
func (s *objectStore) Update(obj any) error {
	u, err := object(obj)
	if err != nil {
		return err
	}
	trim(u)
	k := key(u.GetNamespace(), u.GetName())
	s.mu.Lock()
	old := s.objects[k]
	s.objects[k] = u
	s.mu.Unlock()
	if old == nil || old.GetResourceVersion() != u.GetResourceVersion() || old.GetUID() != u.GetUID() {
		s.changed()
	}
	return nil
}

// Delete drops an object.
func (s *objectStore) Delete(obj any) error {
	u, err := object(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.objects, key(u.GetNamespace(), u.GetName()))
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace takes a whole list for what there is.
func (s *objectStore) Replace(list []any, _ string) error {
	objects := make(map[string]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		u, err := object(obj)
		if err != nil {
			return err
		}
		trim(u)
		objects[key(u.GetNamespace(), u.GetName())] = u
	}
	s.mu.Lock()
	s.objects, s.synced = objects, true
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync is not needed: a snapshot is taken whole each time.
func (s *objectStore) Resync() error { return nil }

func object(obj any) (*unstructured.Unstructured, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("watch gave a %T, want an unstructured object", obj)
	}
	return u, nil
}
