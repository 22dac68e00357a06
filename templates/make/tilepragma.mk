# tilepragma for make:   include $(shell tilepragma --makefile)
#
# Gives the rule  %.tk.c: %.c  (depfiles included), and TILEPRAGMA_CFLAGS and TILEPRAGMA_LIBS for compiling and linking.
# Compile NAME.tk.c in place of NAME.c:   prog: main.o heat.tk.o ; $(CC) -o $@ $^ $(TILEPRAGMA_LIBS)
# TILEPRAGMAFLAGS are options for the translator, such as --target=opencl,threads.

TILEPRAGMA ?= tilepragma
ifndef TILEPRAGMA_CFLAGS
TILEPRAGMA_CFLAGS := $(shell $(TILEPRAGMA) --cflags)
endif
ifndef TILEPRAGMA_LIBS
TILEPRAGMA_LIBS := $(shell $(TILEPRAGMA) --libs)
endif

%.tk.c: %.c
	$(TILEPRAGMA) translate $< -o $@ $(CPPFLAGS) $(filter -std=% -O% -m% -f%,$(CFLAGS)) $(TILEPRAGMAFLAGS) -MMD -MF $@.d -MP

%.tk.o: %.tk.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TILEPRAGMA_CFLAGS) -iquote $(<D) -c $< -o $@

# The translated sources are kept: a debugger shows the generated lines from them.
.PRECIOUS: %.tk.c

# The depfiles hold rules; none of them is the goal of a plain `make`.
TILEPRAGMA_GOAL := $(.DEFAULT_GOAL)
-include $(wildcard *.tk.c.d) $(wildcard */*.tk.c.d)
.DEFAULT_GOAL := $(TILEPRAGMA_GOAL)
