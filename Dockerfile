# The page of ackclock on this machine:
#   docker build -t ackclock . && docker run --rm --network host ackclock
# It listens at 127.0.0.1 only, so that nobody else reaches it. Any other command works as well:
#   docker run --rm -v "$PWD:/work" ackclock ackclock run home.toml
FROM node:22-bookworm-slim AS node

FROM rust:1-slim-bookworm AS build
COPY --from=node /usr/local /usr/local
RUN apt-get update && apt-get install --no-install-recommends -y make python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --break-system-packages --no-cache-dir "maturin>=1.9.4,<2"
COPY . /source
WORKDIR /source
RUN make page && maturin build --release --out /wheels

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN wheel=$(ls /wheels/*.whl) && pip install --no-cache-dir "$wheel[sweep]" && rm -r /wheels
RUN useradd --create-home ackclock
USER ackclock
WORKDIR /work
CMD ["ackclock", "serve"]
