# docker build -t circuit-explorer . && docker run --rm -p 127.0.0.1:5006:5006 circuit-explorer
# opens the dashboard at http://localhost:5006.
FROM python:3.13-slim AS wheel
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /source

FROM python:3.13-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip install --no-cache-dir "$(echo /wheel/*.whl)[digits,ui]"
RUN useradd --create-home explorer
USER explorer
WORKDIR /home/explorer
EXPOSE 5006
CMD ["circuit-explorer", "serve", "--no-show", "--address", "0.0.0.0", "--port", "5006"]
