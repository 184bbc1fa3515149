# completion.sh SCRIPT: what the completion offers at some places of a command line.
compopt() { :; }
. "$1"
offer() {
  COMP_WORDS=("$@")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _mxc
  echo "${COMPREPLY[*]}"
}
echo "verbs: $(offer mxc '')"
echo "flags: $(offer mxc compile --em)"
echo "values: $(offer mxc compile --emit = ml)"
echo "color: $(offer mxc inspect --color = al)"
