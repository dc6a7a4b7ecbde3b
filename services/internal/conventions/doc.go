// Package conventions tests what the whole repository promises about itself: that
// every package says what it is, and that every invariant of services/README.md
// has its tests. It holds nothing but these tests.
package conventions
