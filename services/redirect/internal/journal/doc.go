// Package journal keeps clicks on this machine until the broker has them.
//
// It promises that what Append took survives the process, however that ends: a
// block is in the system's memory for the file when Append returns. It promises to
// take no more room than its bound, never to wait for a disk or a lock that is held
// for longer than a copy takes, and to count what it gives up. It refuses to
// promise anything about a machine that loses power: nothing is synced.
//
// Clicks are numbered from the journal's birth. The number of the next one to
// send is the checkpoint that travels with the clicks (package sender), so nothing
// here has to be found again by a position in a file.
//
// # Files
//
// A directory holds a lock, a page of state and segments of one size, all of them
// mapped for as long as the journal is open: no reader can meet a region that is
// gone. A segment is a header and blocks; a block is a header and the clicks of one
// Append, each behind its length. The block's first word (length and the header's
// checksum) is stored last, in one piece, so a block is either whole or not there.
//
// Segments have no name that means anything: the number of their first click
// orders them. A segment whose clicks are settled is wiped (clicks hold addresses)
// and used again, which spares the system the work of giving out new pages.
//
// # What is found after a crash
//
// The blocks of a segment number their clicks without gaps, so the first header
// that does not verify or does not continue the numbers ends it. If a later block
// or segment shows that clicks are missing in between, they are counted as dropped
// and reading goes on there.
package journal
