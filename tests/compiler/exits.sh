# exits.sh N command...: succeeds if the command ends with exit code N.
want=$1
shift
"$@"
got=$?
[ "$got" = "$want" ] && exit 0
echo "exit code $got instead of $want: $*" >&2
exit 1
