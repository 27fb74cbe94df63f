package listwatch

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxFrame bounds one event. etcd takes objects of 1.5 MB by default; what is far above is a broken stream.
const maxFrame = 128 << 20

// frames splits the body of a watch into events: JSON values one after the other, or protobuf messages with their length
// before them. It can say whether a whole event is there without waiting for one.
type frames struct {
	body io.Reader
	buf  []byte // buf[r:] is read and not yet returned
	r    int

	// Of the JSON value that begins at r: where scanning stopped, and its state there.
	pos      int
	depth    int
	inString bool
	escaped  bool
}

// next returns the next event, valid until the call after. Without block, ok is false if none is there yet. The error is
// io.EOF at the end of the body, between two events.
func (f *frames) next(block bool) (frame []byte, ok bool, err error) {
	for {
		frame, ok, err := f.buffered()
		if ok || err != nil || !block {
			return frame, ok, err
		}
		if err := f.fill(); err != nil {
			if err == io.EOF && f.r < len(f.buf) && !blank(f.buf[f.r:]) {
				err = io.ErrUnexpectedEOF
			}
			return nil, false, err
		}
	}
}

// fill reads more, at least a byte.
func (f *frames) fill() error {
	if f.r > 0 {
		n := copy(f.buf, f.buf[f.r:])
		f.buf = f.buf[:n]
		f.pos -= f.r
		f.r = 0
	}
	if len(f.buf) == cap(f.buf) {
		f.buf = append(f.buf, make([]byte, max(4096, len(f.buf)))...)[:len(f.buf)]
	}
	n, err := f.body.Read(f.buf[len(f.buf):cap(f.buf)])
	f.buf = f.buf[:len(f.buf)+n]
	if n > 0 {
		return nil // an error will be there the next time
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// buffered returns an event that is there as a whole.
func (f *frames) buffered() ([]byte, bool, error) {
	if f.depth == 0 {
		f.r = skipSpace(f.buf, f.r)
		f.pos = max(f.pos, f.r)
	}
	if f.r == len(f.buf) {
		return nil, false, nil
	}
	if f.buf[f.r] != '{' {
		return f.message()
	}
	for ; f.pos < len(f.buf); f.pos++ {
		c := f.buf[f.pos]
		switch {
		case f.escaped:
			f.escaped = false
		case f.inString:
			f.escaped, f.inString = c == '\\', c != '"'
		case c == '"':
			f.inString = true
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			if f.depth--; f.depth <= 0 {
				f.depth = 0
				f.pos++
				frame := f.buf[f.r:f.pos]
				f.r = f.pos
				return frame, true, nil
			}
		}
	}
	if f.pos-f.r > maxFrame {
		return nil, false, &DecodeError{Err: fmt.Errorf("an event of more than %d bytes", maxFrame)}
	}
	return nil, false, nil
}

// message returns a protobuf message, whose length is before it.
func (f *frames) message() ([]byte, bool, error) {
	if len(f.buf)-f.r < 4 {
		return nil, false, nil
	}
	n := int(binary.BigEndian.Uint32(f.buf[f.r:]))
	if n > maxFrame {
		return nil, false, &DecodeError{Err: fmt.Errorf("neither JSON nor a protobuf message begins with % x", f.buf[f.r:f.r+4])}
	}
	if len(f.buf)-f.r-4 < n {
		return nil, false, nil
	}
	frame := f.buf[f.r+4 : f.r+4+n]
	f.r += 4 + n
	f.pos = f.r
	return frame, true, nil
}

func blank(b []byte) bool { return skipSpace(b, 0) == len(b) }
