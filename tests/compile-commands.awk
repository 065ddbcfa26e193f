# SPDX-License-Identifier: GPL-2.0
# From the lines of a dry run of make to compile_commands.json: the first command of each C file.
# -v root=DIR: where make runs. What is for the linker is left out of a line that compiles and links.
{
	sources = flags = compiler = ""
	if ($0 ~ /["'`$;&|\\]/ || $0 !~ / -o /)
		next
	for (i = 1; i <= NF; i++) {
		if ($i ~ /^[A-Z_]+=/ && compiler == "")
			continue
		if (compiler == "")
			compiler = $i
		else if ($i == "-o" || $i == "-MF")
			i++
		else if ($i ~ /^[^-].*\.c$/)
			sources = sources " " $i
		else if ($i ~ /^-/ && $i !~ /^-(c|MMD|MP|l.*|L.*|Wl,.*)$/)
			flags = flags ", \"" $i "\"" (($i == "-include" || $i == "-I") ? ", \"" $(++i) "\"" : "")
	}
	n = split(sources, source, " ")
	for (i = 1; i <= n; i++)
		if (!(source[i] in seen)) {
			seen[source[i]] = 1
			printf "%s\n{\"directory\": \"%s\", \"file\": \"%s\", \"arguments\": [\"%s\"%s, \"-c\", \"%s\"]}",
				(any++ ? "," : "["), root, source[i], compiler, flags, source[i]
		}
}
END { print any ? "\n]" : "[]" }
