// Package linkoption is what a link may ask of the edge beyond its destination: rules,
// a split over variants, campaign parameters, a preview of its own, a limit of clicks.
// The types have the form that the API takes and shows; the package also knows how they
// look in the changelog, and how campaign parameters get into a target.
//
// It promises that what Check functions let pass can be compiled by every edge, and that
// a way through the changelog and back changes nothing. It reports everything that is
// wrong at once, by field.
//
// It refuses to judge destinations: whoever owns their rules hands them in as a Target.
package linkoption
