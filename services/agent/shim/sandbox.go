package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes are how setup is cloned. The capabilities it gets are of its own user namespace, and it drops them.
func (s Spec) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if s.Walls.Namespaces {
		a.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	}
	if s.Walls.UserNS {
		a.Cloneflags |= unix.CLONE_NEWUSER
		// The same number inside as outside, and no other: there is nobody else to be.
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: s.UID, HostID: s.UID, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: s.UID, HostID: s.UID, Size: 1}}
		if !s.Walls.OwnUID {
			a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		}
		a.GidMappingsEnableSetgroups = s.Walls.OwnUID
		if s.Walls.OwnUID {
			a.Credential = &syscall.Credential{Uid: uint32(s.UID), Gid: uint32(s.UID)}
		}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE}
	}
	return a
}

// shown are the folders of the node that a command sees, read-only.
var shown = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "etc"}

// devices are the device files it gets.
var devices = []string{"null", "zero", "full", "random", "urandom"}

const newRoot = "/tmp" // where the new root is built: there on every system, and hidden under it afterwards

// buildRoot leaves a root with the system's programs, an own /proc, an own /tmp and nothing else of the node.
func buildRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("weir", newRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mount root: %w", err)
	}
	for _, name := range shown {
		if err := show(name); err != nil {
			return err
		}
	}
	if err := makeDev(); err != nil {
		return err
	}
	for _, m := range []struct {
		name, fs, data string
		mode           os.FileMode
		flags          uintptr
	}{
		{"proc", "proc", "", 0o555, unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmp", "tmpfs", "mode=1777,size=512m", 0o777, unix.MS_NOSUID | unix.MS_NODEV},
		{"dev/shm", "tmpfs", "mode=1777,size=256m", 0o777, unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		at := filepath.Join(newRoot, m.name)
		if err := os.MkdirAll(at, m.mode); err != nil {
			return fmt.Errorf("make /%s: %w", m.name, err)
		}
		if err := unix.Mount("weir", at, m.fs, m.flags, m.data); err != nil {
			return fmt.Errorf("mount /%s: %w", m.name, err)
		}
	}
	return enterRoot()
}

// show binds a folder of the node, or repeats a link to one.
func show(name string) error {
	from, to := "/"+name, filepath.Join(newRoot, name)
	info, err := os.Lstat(from)
	if err != nil {
		return nil // this system has none
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return fmt.Errorf("show %s: %w", from, err)
		}
		return os.Symlink(target, to)
	}
	if !info.IsDir() {
		return nil
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("show %s: %w", from, err)
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", from, err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(-1, to, unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("make %s read-only: %w", from, err)
	}
	return nil
}

func makeDev() error {
	dev := filepath.Join(newRoot, "dev")
	if err := os.Mkdir(dev, 0o755); err != nil {
		return fmt.Errorf("make /dev: %w", err)
	}
	for _, d := range devices {
		to := filepath.Join(dev, d)
		f, err := os.OpenFile(to, os.O_CREATE|os.O_RDONLY, 0o666)
		if err != nil {
			return fmt.Errorf("make /dev/%s: %w", d, err)
		}
		f.Close()
		if err := unix.Mount("/dev/"+d, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind /dev/%s: %w", d, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return nil
}

// enterRoot makes the new root the only one.
func enterRoot() error {
	if err := unix.Chdir(newRoot); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the node's root: %w", err)
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(-1, "/", 0, attr); err != nil {
		return fmt.Errorf("make root read-only: %w", err)
	}
	return unix.Chdir("/tmp")
}

// loopback switches lo on; without it not even a local server works.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch loopback on: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("switch loopback on: %w", err)
	}
	req.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("switch loopback on: %w", err)
	}
	return nil
}
