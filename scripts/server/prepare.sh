#!/bin/sh
# Creates everything that compose.yaml needs and that must not be in the repository: a certificate authority,
# a certificate and variables.conf for each broker, the passwords, and the settings. Usage:
#
#   sh scripts/server/prepare.sh https://platform.example [folder]
#
# It changes nothing that exists, so it can be repeated.
set -eu

address=${1:?"Usage: sh scripts/server/prepare.sh https://platform.example [folder]"}
folder=${2:-deployment}
days=825

umask 077
mkdir -p "$folder"
cd "$folder"

if [ ! -f ca.pem ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=platform brokers" -keyout ca.key -out ca.pem 2>/dev/null
fi

if [ ! -f .env ]; then
  {
    echo "PUBLIC_URL=$address"
    for user in FN STREAMS DEPLOY OPERATOR SYSTEM; do
      echo "${user}_PASSWORD=$(openssl rand -hex 24)"
    done
    echo "METRICS_TOKEN=$(openssl rand -hex 24)"
  } >.env
fi

for name in n1 n2 n3; do
  mkdir -p "$name"
  if [ ! -f "$name/cert.pem" ]; then
    printf 'subjectAltName=DNS:%s,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n' "$name" >"$name/names"
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" \
      -keyout "$name/key.pem" -out "$name/request.pem" 2>/dev/null
    openssl x509 -req -in "$name/request.pem" -CA ca.pem -CAkey ca.key -CAcreateserial -days "$days" \
      -extfile "$name/names" -out "$name/cert.pem" 2>/dev/null
    rm "$name/names" "$name/request.pem"
  fi
  cp ca.pem "$name/ca.pem"
  {
    echo "NODE_SERVER_NAME: \"$name\""
    echo 'NODE_STORE_DIR: "/data"'
    echo 'NODE_CERT_FILE: "/etc/nats/cert.pem"'
    echo 'NODE_KEY_FILE: "/etc/nats/key.pem"'
    echo 'NODE_CA_FILE: "/etc/nats/ca.pem"'
    echo 'NODE_CLIENT_LISTEN: "0.0.0.0:4222"'
    echo 'NODE_WEBSOCKET_LISTEN: "0.0.0.0:8443"'
    echo 'NODE_CLUSTER_LISTEN: "0.0.0.0:6222"'
    echo 'NODE_ROUTES: ["tls://n1:6222", "tls://n2:6222", "tls://n3:6222"]'
    echo 'NODE_MAX_FILE_STORE: 20GB'
    sed -n 's/^\([A-Z]*_PASSWORD\)=\(.*\)$/\1: "\2"/p' .env
  } >"$name/variables.conf"
done

# The programs in the containers run as other users.
chmod 755 . n1 n2 n3
chmod 644 ca.pem n1/ca.pem n2/ca.pem n3/ca.pem

echo "Prepared $folder. Keep ca.key and .env secret. Start with:"
echo "  docker compose --env-file $folder/.env up --detach"
