package swizzle

// lru is a fully associative cache of numbered pieces of any size with
// least-recently-used replacement: a doubly linked list in an array.
type lru struct {
	nodes    []lruNode // the last one is the list's head
	held     int64
	capacity int64
}

type lruNode struct {
	prev, next int32 // -1: not held
	bytes      int64
}

func newLRU(n int, capacity int64) lru {
	c := lru{nodes: make([]lruNode, n+1), capacity: capacity}
	c.clear()
	return c
}

// clear empties the cache.
func (c *lru) clear() {
	for i := range c.nodes {
		c.nodes[i] = lruNode{-1, -1, 0}
	}
	head := int32(len(c.nodes) - 1)
	c.nodes[head] = lruNode{prev: head, next: head}
	c.held = 0
}

// access makes a piece the most recently used one and reports whether it was
// held. Pieces larger than the cache are never held.
func (c *lru) access(id int32, bytes int64) bool {
	hit := c.nodes[id].next >= 0
	if hit {
		c.unlink(id)
	}
	if bytes > c.capacity {
		return hit
	}
	head := int32(len(c.nodes) - 1)
	n := &c.nodes[id]
	n.bytes, n.prev, n.next = bytes, head, c.nodes[head].next
	c.nodes[n.next].prev = id
	c.nodes[head].next = id
	for c.held += bytes; c.held > c.capacity; {
		c.unlink(c.nodes[head].prev)
	}
	return hit
}

func (c *lru) unlink(id int32) {
	n := &c.nodes[id]
	c.nodes[n.prev].next, c.nodes[n.next].prev = n.next, n.prev
	c.held -= n.bytes
	n.prev, n.next = -1, -1
}
