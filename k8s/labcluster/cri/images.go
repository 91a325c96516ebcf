package cri

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const defaultPull = 500 * time.Millisecond

// ImageService is the simulated image store of one node.
type ImageService struct {
	runtimeapi.UnimplementedImageServiceServer
	catalogue *Catalogue
	dir       string

	mu     sync.Mutex
	pulled map[string]*image // by image id
}

// image is an image of the store; its fields are exported for the state file.
type image struct {
	ID          string   `json:"id"`
	Repository  string   `json:"repository"`
	RepoTags    []string `json:"repoTags"`
	RepoDigests []string `json:"repoDigests"`

	repo *Repository
}

// NewImageService returns the store kept under dir; images pulled before are
// still there, as on a node that was restarted.
func NewImageService(catalogue *Catalogue, dir string) (*ImageService, error) {
	s := &ImageService{catalogue: catalogue, dir: dir, pulled: map[string]*image{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("image store: %w", err)
	}
	data, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("image store: %w", err)
	}
	var images []*image
	if err := json.Unmarshal(data, &images); err != nil {
		return nil, fmt.Errorf("image store %s: %w", s.stateFile(), err)
	}
	for _, img := range images {
		// An image that a new catalogue no longer knows is pulled anew, or refused.
		if img.repo = catalogue.repository(img.Repository); img.repo != nil {
			s.pulled[img.ID] = img
		}
	}
	return s, nil
}

func (s *ImageService) stateFile() string { return filepath.Join(s.dir, "images.json") }

// save needs the lock.
func (s *ImageService) save() error {
	images := make([]*image, 0, len(s.pulled))
	for _, img := range s.pulled {
		images = append(images, img)
	}
	data, err := json.Marshal(images)
	if err != nil {
		return err
	}
	tmp := s.stateFile() + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, s.stateFile())
}

// find resolves an image id or a reference to a pulled image.
func (s *ImageService) find(name string) *image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if img, ok := s.pulled[name]; ok {
		return img
	}
	r, err := parseReference(name)
	if err != nil {
		return nil
	}
	for _, img := range s.pulled {
		for _, known := range append(img.RepoTags, img.RepoDigests...) {
			if known == r.String() {
				return img
			}
		}
	}
	return nil
}

// PullImage answers as containerd does for a reference of that kind.
func (s *ImageService) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	r, err := parseReference(req.GetImage().GetImage())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	repo, err := s.resolve(r, req.GetAuth())
	if err != nil {
		return nil, err
	}
	takes := defaultPull
	if repo.PullTakes != nil {
		takes = repo.PullTakes.Duration
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, status.Error(codes.Canceled, fmt.Sprintf("failed to pull and unpack image %q: context canceled", r))
	}
	return s.store(r, repo)
}

func (s *ImageService) store(r ref, repo *Repository) (*runtimeapi.PullImageResponse, error) {
	tag := r.tag()
	if tag == "" {
		tag = repo.Tags[0]
	}
	img := &image{
		ID:         digestFor("image", repo.Name, tag),
		Repository: repo.Name,
		repo:       repo,
		RepoTags:   []string{repo.Name + ":" + tag},
	}
	img.RepoDigests = []string{repo.Name + "@" + digestFor("manifest", repo.Name, tag)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulled[img.ID] = img
	if err := s.save(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &runtimeapi.PullImageResponse{ImageRef: img.ID}, nil
}

// ImageStatus tells about one pulled image, or nothing when it is not there.
func (s *ImageService) ImageStatus(_ context.Context, req *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	img := s.find(req.GetImage().GetImage())
	if img == nil {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: img.proto()}, nil
}

// ListImages lists what is pulled.
func (s *ImageService) ListImages(_ context.Context, req *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	if name := req.GetFilter().GetImage().GetImage(); name != "" {
		if img := s.find(name); img != nil {
			return &runtimeapi.ListImagesResponse{Images: []*runtimeapi.Image{img.proto()}}, nil
		}
		return &runtimeapi.ListImagesResponse{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &runtimeapi.ListImagesResponse{}
	for _, img := range s.pulled {
		resp.Images = append(resp.Images, img.proto())
	}
	return resp, nil
}

// RemoveImage forgets an image; removing one that is not there is no error.
func (s *ImageService) RemoveImage(_ context.Context, req *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	img := s.find(req.GetImage().GetImage())
	if img == nil {
		return &runtimeapi.RemoveImageResponse{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pulled, img.ID)
	if err := s.save(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo reports what the pulled images would take.
func (s *ImageService) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes uint64
	for _, img := range s.pulled {
		bytes += uint64(img.repo.Size.Value())
	}
	usage := &runtimeapi.FilesystemUsage{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: s.dir},
		UsedBytes:  &runtimeapi.UInt64Value{Value: bytes},
		InodesUsed: &runtimeapi.UInt64Value{Value: uint64(len(s.pulled))},
	}
	return &runtimeapi.ImageFsInfoResponse{
		ImageFilesystems:     []*runtimeapi.FilesystemUsage{usage},
		ContainerFilesystems: []*runtimeapi.FilesystemUsage{usage},
	}, nil
}

func (img *image) proto() *runtimeapi.Image {
	p := &runtimeapi.Image{
		Id:          img.ID,
		RepoTags:    img.RepoTags,
		RepoDigests: img.RepoDigests,
		Size:        uint64(img.repo.Size.Value()),
		Spec:        &runtimeapi.ImageSpec{Image: img.ID},
	}
	uid, numeric := numericUser(img.repo.User)
	switch {
	case numeric:
		p.Uid = &runtimeapi.Int64Value{Value: uid}
	default:
		p.Username = img.repo.User
	}
	return p
}
