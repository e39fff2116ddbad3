# Keeps one PostgreSQL server for as long as somebody holds the other end of its stdin, and leaves nothing behind.
#
#   sh keeper.sh <folder of the server's programs> <private folder> [setting...]
#
# Runs as the user that the server is to run as. Reads `start` and `stop` (at once, as a crash does), one a line, and
# answers each of them with a line.
programs=$1
folder=$2
shift 2
server=

stop() {
    [ -n "$server" ] || return 0
    kill -QUIT "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    server=
}

end() {
    stop
    cd / && rm -rf --one-file-system "$folder"
    exit 0
}

# Who ends the tests by a signal to everybody ends this too, and the server with it.
trap end TERM INT HUP

cd "$folder" || exit 1
if ! "$programs/initdb" -D data -U placard -A trust -E UTF8 --no-locale -N >log 2>&1; then
    echo failed
    end
fi
for setting in "$@"; do
    printf '%s\n' "$setting" >>data/postgresql.conf
done
echo made
while read -r word; do
    case $word in
        start)
            # The server ends with this shell, even where that is killed.
            setpriv --pdeathsig QUIT "$programs/postgres" -D data </dev/null >>log 2>&1 &
            server=$!
            echo started
            ;;
        stop)
            stop
            echo stopped
            ;;
    esac
done
end
