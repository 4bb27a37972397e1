// hyperscan counts the lines of a file that match one of a list of patterns:
// block mode, 256 KB cut at the last line end, as trainmedic reads.
//
//   hyperscan PATTERNS FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX = 1000, BLOCK = 256 << 10 };

static unsigned long long upto; // the end of the last line counted
static const char *text;
static size_t len, lines;

static int hit(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *ctx) {
	(void)id, (void)from, (void)flags, (void)ctx;
	if (to <= upto) return 0;
	const char *end = memchr(text + to, '\n', len - to);
	upto = end ? (unsigned long long)(end - text) + 1 : len;
	lines++;
	return 0;
}

static unsigned load(const char *name, char **patterns) {
	FILE *f = fopen(name, "r");
	unsigned n = 0;
	size_t room = 0;
	ssize_t k;
	if (!f) exit(2);
	for (char *line = NULL; n < MAX && (k = getline(&line, &room, f)) > 0; line = NULL, room = 0) {
		if (line[k - 1] == '\n') line[k - 1] = 0;
		patterns[n++] = line;
	}
	fclose(f);
	return n;
}

static hs_database_t *compile(char **patterns, unsigned n) {
	static unsigned flags[MAX], ids[MAX];
	hs_database_t *db;
	hs_compile_error_t *err;
	for (unsigned i = 0; i < n; i++) flags[i] = HS_FLAG_MULTILINE, ids[i] = i;
	while (hs_compile_multi((const char *const *)patterns, flags, ids, n, HS_MODE_BLOCK, NULL, &db, &err) != HS_SUCCESS) {
		fprintf(stderr, "hyperscan: %s: %s\n", err->expression < 0 ? "" : patterns[err->expression], err->message);
		if (err->expression < 0) exit(2);
		patterns[err->expression] = patterns[--n]; // go on without it
		hs_free_compile_error(err);
	}
	return db;
}

int main(int argc, char **argv) {
	static char *patterns[MAX], block[BLOCK];
	if (argc != 3) return 2;
	hs_database_t *db = compile(patterns, load(argv[1], patterns));
	hs_scratch_t *scratch = NULL;
	int fd = open(argv[2], O_RDONLY);
	if (fd < 0 || hs_alloc_scratch(db, &scratch) != HS_SUCCESS) return 2;
	size_t held = 0;
	ssize_t k;
	while ((k = read(fd, block + held, BLOCK - held)) > 0 || held) {
		held += k > 0 ? k : 0;
		const char *end = k > 0 ? memrchr(block, '\n', held) : NULL;
		if (k > 0 && !end && held < BLOCK) continue;
		size_t whole = end ? (size_t)(end - block) + 1 : held; // a line longer than a block is cut
		text = block, len = whole, upto = 0;
		if (hs_scan(db, block, whole, 0, scratch, hit, NULL) != HS_SUCCESS) return 2;
		memmove(block, block + whole, held -= whole);
	}
	printf("%zu\n", lines);
	return 0;
}
