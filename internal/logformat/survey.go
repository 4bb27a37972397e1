package logformat

// Marks are what a line holds, found in one pass, so that a format is asked only
// about lines that could be its own.
type Marks uint32

type marks = Marks

const (
	mDigit marks = 1 << iota
	mPipe
	mEq
	mColon
	mBrace
	mPercent
	mBracket
	mSlash
	mTab
	mCount  // step, iteration, update, batch
	mEpoch  // epoch
	mMetric // loss, accuracy and their kin, nan
	mWord   // a word that a plan, an ending or a restart is told with
	mBlock  // a byte beyond ASCII, as bars are drawn with
	mComma
	mHash
	mAll    // the word "all"
	mResume // resume, restore, load, continue
	mEnd    // done, finished, complete, stopped, time
)

// byteMarks are the marks of single bytes.
var byteMarks = func() (t [256]marks) {
	for c := '0'; c <= '9'; c++ {
		t[c] = mDigit
	}
	for c := 0x80; c < 0x100; c++ {
		t[c] = mBlock
	}
	t['|'], t['='], t[':'], t['{'], t['%'] = mPipe, mEq, mColon, mBrace, mPercent
	t['['], t['/'], t['\t'], t[','], t['#'] = mBracket, mSlash, mTab, mComma, mHash
	return t
}()

// Survey finds the marks of a cleaned line after the launcher's prefix was cut.
func Survey(b []byte) Marks {
	if len(b) > maxLine {
		b = b[:maxLine]
	}
	var m marks
	inWord := false
	for i, c := range b {
		m |= byteMarks[c]
		if !isAlpha(c) {
			inWord = false
			continue
		}
		if !inWord && i+2 < len(b) {
			m |= wordMarks(b[i:])
		}
		inWord = true
	}
	if len(b) > 3 && b[0] == 's' && b[1] == ':' && isDigit(b[2]) {
		m |= mCount
	}
	return m
}

// wordMarks are the marks of the word at the start of b, by its first letters.
func wordMarks(b []byte) marks {
	k := uint32(b[0]|0x20)<<16 | uint32(b[1]|0x20)<<8 | uint32(b[2]|0x20)
	switch k {
	case 's'<<16 | 't'<<8 | 'e', 'i'<<16 | 't'<<8 | 'e', 'u'<<16 | 'p'<<8 | 'd', 'b'<<16 | 'a'<<8 | 't', 't'<<16 | 'i'<<8 | 'c':
		return mCount | mWord
	case 't'<<16 | 'i'<<8 | 'm':
		return mCount | mWord | mEnd
	case 'e'<<16 | 'p'<<8 | 'o':
		return mEpoch
	case 'l'<<16 | 'o'<<8 | 's', 'a'<<16 | 'c'<<8 | 'c', 'p'<<16 | 'p'<<8 | 'l', 'p'<<16 | 'e'<<8 | 'r',
		'n'<<16 | 'a'<<8 | 'n', 'r'<<16 | 'm'<<8 | 's', 'm'<<16 | 'a'<<8 | 'p', 'l'<<16 | 'e'<<8 | 'a',
		'a'<<16 | 'u'<<8 | 'c', 'a'<<16 | 'v'<<8 | 'g', 'r'<<16 | 'e'<<8 | 'w', 'm'<<16 | 's'<<8 | 'e', 'm'<<16 | 'a'<<8 | 'e', 'e'<<16 | 'v'<<8 | 'a', 'v'<<16 | 'a'<<8 | 'l', 't'<<16 | 'e'<<8 | 's', 't'<<16 | 'r'<<8 | 'l':
		return mMetric | mWord
	case 'a'<<16 | 'l'<<8 | 'l':
		return mAll
	case 'r'<<16 | 'e'<<8 | 's', 'l'<<16 | 'o'<<8 | 'a':
		return mWord | mResume
	case 'c'<<16 | 'o'<<8 | 'n':
		return mResume
	case 'd'<<16 | 'o'<<8 | 'n', 'f'<<16 | 'i'<<8 | 'n', 'c'<<16 | 'o'<<8 | 'm', 's'<<16 | 't'<<8 | 'o', 's'<<16 | 'u'<<8 | 'c',
		'e'<<16 | 'a'<<8 | 'r', 'e'<<16 | 'n'<<8 | 'd', 'm'<<16 | 'e'<<8 | 't', 'h'<<16 | 'a'<<8 | 's':
		return mWord | mEnd
	case 't'<<16 | 'r'<<8 | 'a', 'f'<<16 | 'i'<<8 | 't', 'm'<<16 | 'a'<<8 | 'x', 't'<<16 | 'o'<<8 | 't', 'n'<<16 | 'u'<<8 | 'm',
		's'<<16 | 'a'<<8 | 'v', 'g'<<16 | 'p'<<8 | 'u', 'n'<<16 | 'e'<<8 | 'p':
		return mWord
	}
	return 0
}
