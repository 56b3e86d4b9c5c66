# The service, and every other command, as one image:
#
#   docker build --tag dragoman .
#   docker run --rm dragoman demo
#   docker run --rm --publish 127.0.0.1:8080:8080 --env DRAGOMAN_API_KEYS dragoman serve --demo --host 0.0.0.0
#
# Runs as nobody in particular, writes to /data alone, holds no key. With an engine: docker/compose.yaml.
FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/dragoman \
    && /opt/dragoman/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt \
        ".[serve,mcp,otel,meaning,anthropic,openai,pdf,postgres,opensearch,elasticsearch,qdrant]"

FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="Says a question in the words a corpus uses, searches, fuses." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 dragoman \
    && useradd --system --uid 10001 --gid dragoman --home-dir /data --no-create-home --shell /usr/sbin/nologin dragoman \
    && install --directory --owner dragoman --group dragoman /data
COPY --from=build /opt/dragoman /opt/dragoman
ENV PATH=/opt/dragoman/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["dragoman"]
CMD ["serve", "--demo", "--host", "0.0.0.0"]
