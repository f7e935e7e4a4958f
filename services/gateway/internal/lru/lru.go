// Package lru owns a bounded map that forgets what was not used for longest. What
// strangers can make the gateway remember lives in one of these.
package lru

import (
	"container/list"
	"sync"
)

// Map holds at most a fixed number of entries. Safe for concurrent use.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	order *list.List // of *entry[K, V], the latest used first
	byKey map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns a map of at most limit entries.
func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{max: limit, order: list.New(), byKey: map[K]*list.Element{}}
}

// Get returns the value of k.
func (m *Map[K, V]) Get(k K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[k]
	if !ok {
		return v, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put sets the value of k.
func (m *Map[K, V]) Put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(k, v)
}

// GetOrPut returns the value of k, made by fresh when there is none.
func (m *Map[K, V]) GetOrPut(k K, fresh func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[k]; ok {
		m.order.MoveToFront(e)
		return e.Value.(*entry[K, V]).value
	}
	v := fresh()
	m.put(k, v)
	return v
}

func (m *Map[K, V]) put(k K, v V) {
	if e, ok := m.byKey[k]; ok {
		e.Value.(*entry[K, V]).value = v
		m.order.MoveToFront(e)
		return
	}
	m.byKey[k] = m.order.PushFront(&entry[K, V]{k, v})
	if m.order.Len() > m.max {
		last := m.order.Back()
		m.order.Remove(last)
		delete(m.byKey, last.Value.(*entry[K, V]).key)
	}
}

// Delete forgets k.
func (m *Map[K, V]) Delete(k K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[k]; ok {
		m.order.Remove(e)
		delete(m.byKey, k)
	}
}

// Len is how many entries there are.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order.Len()
}
