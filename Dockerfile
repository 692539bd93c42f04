# The host of the platform. compose.yaml runs it with three brokers, a proxy and backups.
FROM node:24-bookworm-slim

WORKDIR /opt/platform
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund && npm cache clean --force
COPY . .
RUN mkdir /data /keys /backups && chown node:node /data /keys /backups

USER node
ENV HOST=0.0.0.0 DATA_DIR=/data
VOLUME ["/data"]
EXPOSE 8787 52012
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/api/health?probe=live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "scripts/bootstrap.mjs"]
CMD ["host"]
