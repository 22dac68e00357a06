# How a one-file sample is built: `make` with any C compiler (the pragmas are ignored), `make CC=tilecc` with tilepragma.
# -ffp-contract=off keeps multiply and add apart everywhere, so that every target gives the same bits.
CFLAGS ?= -O3 -march=native -ffp-contract=off
TILEPRAGMA ?= tilepragma
WARNINGS = -Wall -Wextra -Wpedantic -Wno-unknown-pragmas

$(NAME): $(NAME).c ../common/sample.h
	$(CC) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) -o $@ $(NAME).c $(LDFLAGS) $(LDLIBS)

# The readable kernels, beside the translated source.
kernels: $(NAME).c ../common/sample.h
	mkdir -p kernels
	$(TILEPRAGMA) translate $(NAME).c -o kernels/$(NAME).tk.c --emit-kernels kernels

clean:
	rm -rf $(NAME) kernels

.PHONY: kernels clean
