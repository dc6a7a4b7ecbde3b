package scenario

import "testing"

func TestMixIsWhatItIsCalled(t *testing.T) {
	var of [3]int
	for i := range 100_000 {
		of[mixed(i)]++
	}
	if of != [3]int{classL1: 98_000, classL2: 1_800, classOrigin: 200} {
		t.Errorf("of 100,000 requests the classes have %v", of)
	}
}
