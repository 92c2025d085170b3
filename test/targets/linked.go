// SPDX-License-Identifier: Apache-2.0

// A Go program, whose runtime has an allocator of its own: cannot be attached to. Answers every line.
package main

import (
	"bufio"
	"fmt"
	"os"
)

var kept [][]byte

func main() {
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		kept = append(kept, make([]byte, 100000))
		fmt.Println("ok")
	}
}
