"""A W&B server that keeps views: what W&B's own client sends is what it answers from."""

import gzip
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Views(ThreadingHTTPServer):
    """Views by id; `project` is the only one that exists."""

    def __init__(self, entity: str, project: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.entity, self.project = entity, project
        self.views: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, query: str, given: dict[str, Any]) -> dict[str, Any]:
        if "upsertView" in query:
            return {"upsertView": {"view": self.upsert(given), "inserted": not given.get("id")}}
        if "allViews" in query:
            kind, name = given.get("viewType", "runs"), given.get("viewName")
            named = [v for v in self.views.values() if v["type"] == kind and name in (None, v["name"])]
            edges = [{"node": view, "cursor": "c"} for view in named]
            known = given.get("name", given.get("project")) == self.project
            found = {"allViews": {"edges": edges, "pageInfo": {"hasNextPage": False, "endCursor": None}}}
            return {"project": found if known else None}
        if "models(" in query:  # a page of projects
            project = {
                "id": "1", "name": self.project, "entityName": self.entity, "createdAt": "", "isBenchmark": False,
                "user": None,
            }  # fmt: skip
            page = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": project, "cursor": "c"}], "pageInfo": page}}
        viewer = {"id": "1", "entity": self.entity, "username": self.entity, "flags": "{}"}
        return {"viewer": viewer | {"teams": {"edges": []}}}

    def upsert(self, given: dict[str, Any]) -> dict[str, Any]:
        key = given.get("id") or f"id{len(self.views)}"
        fields = ("name", "displayName", "type", "spec", "description")
        self.views[key] = {"id": key, **{field: given[field] for field in fields}}
        times = {"createdAt": "2026-01-01T00:00:00", "updatedAt": "2026-01-01T00:00:00"}
        user = {"name": "x", "username": "x", "userInfo": {}}
        project = {"id": "1", "name": self.project, "entityName": self.entity}
        return self.views[key] | times | {"user": user, "project": project}


class Handler(BaseHTTPRequestHandler):
    server: Views

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        if self.path != "/graphql":  # telemetry
            self.send_error(404)
            return
        asked = json.loads(content)
        body = json.dumps({"data": self.server.answer(asked["query"], asked.get("variables") or {})}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
