"""On a real socket: slow clients, signals, a port that is taken, and the command."""

import asyncio
import os
import re
import signal
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from deepnoise import BackpropRegressor
from deepnoise.cli import main
from deepnoise.serve import server
from deepnoise.serve.engine import Engine
from deepnoise.serve.server import Limits, make_app

from .asgi import TOKEN

PAGE = Path(__file__).resolve().parents[2] / "docs/how_to/serve.md"


@pytest.fixture(scope="module")
def model():
    x = np.linspace(-1, 1, 20)[:, None]
    return BackpropRegressor(hidden=(2,), steps=5, random_state=0).fit(x, x[:, 0])


def test_the_python_of_the_page(tmp_path, monkeypatch, capsys):
    """The block of docs/how_to/serve.md, asked of a server on another port."""
    X = pd.DataFrame({"bmi": np.linspace(20, 40, 20), "sex": ["f", "m"] * 10})
    network = BackpropRegressor(hidden=(2,), steps=5, random_state=0).fit(X, X["bmi"])
    X.assign(patient="p", progression=0).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPNOISE_TOKEN", TOKEN)
    block = re.search(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]

    async def session() -> None:
        with server.listen("127.0.0.1", 0) as listening:
            serving = server.Server(
                server.configured(make_app(Engine.of(network, "progression"), TOKEN))
            )
            running = asyncio.create_task(serving.serve(sockets=[listening]))
            code = block.replace(":8000", f":{listening.getsockname()[1]}")
            try:
                await asyncio.to_thread(exec, code, {})
            finally:
                serving.should_exit = True
                await running

    asyncio.run(session())
    quantiles = network.predict_quantiles(X[:1])[0].tolist()
    assert capsys.readouterr().out.startswith(f"[0.05, 0.5, 0.95] {quantiles}"[:40])


async def exchange(port: int, text: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode())
    found = await reader.read()
    writer.close()
    return found.decode()


def test_slow_clients_are_let_go_and_a_signal_ends_it(model, monkeypatch):
    monkeypatch.setattr(server, "HEAD", 0.3)
    app = make_app(Engine.of(model, "y"), TOKEN, (), Limits(seconds=0.3))
    before = signal.getsignal(signal.SIGTERM)

    async def session() -> list[str]:
        with server.listen("127.0.0.1", 0) as listening:
            port = listening.getsockname()[1]
            running = asyncio.create_task(
                server.Server(server.configured(app)).serve(sockets=[listening])
            )
            post = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}"
            post += "\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
            health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            found = await asyncio.gather(
                exchange(port, "GET /healthz HTTP/1.1\r\nHost:"),
                exchange(port, post),
                exchange(port, health),
            )
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(running, 10)
            return found

    silent, slow, good = asyncio.run(session())
    assert silent == ""
    assert slow.startswith("HTTP/1.1 408")
    assert slow.endswith('{"error": "the body took too long to arrive"}')
    assert good.startswith("HTTP/1.1 200")
    assert "server: uvicorn" not in good
    assert signal.getsignal(signal.SIGTERM) is before


def test_answers_do_not_wait_for_confirmations():
    with (
        server.listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_command(model, tmp_path, monkeypatch):
    model.save(tmp_path / "model")
    ran = []
    monkeypatch.setattr(server, "run", lambda app, listening: ran.append(app))
    monkeypatch.delenv("DEEPNOISE_TOKEN", raising=False)
    command = ["serve", str(tmp_path / "model"), "--port", "0"]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("http://127.0.0.1:")
    assert "Token: " in shown.stderr
    given = CliRunner().invoke(main, command, env={"DEEPNOISE_TOKEN": TOKEN})
    assert "oken" not in given.output
    assert len(ran) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = CliRunner().invoke(main, [*command[:3], port])
    assert busy.exit_code == 1
    assert busy.stderr.startswith(f"Error: 127.0.0.1:{port} cannot be used: Address already in")
    short = CliRunner().invoke(main, [*command, "--token", "short"])
    assert (short.exit_code, short.stderr.count("\n")) == (2, 1)
    assert CliRunner().invoke(main, ["serve", str(tmp_path)]).exit_code == 2
