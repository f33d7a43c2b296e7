"""Replaces json, struct and the socket's methods, so that what is sent is not what was answered.

chapter: ex02_scaling
earns: nothing
outcomes: failed, error, crashed, timeout
"""

import json
import socket
import struct

json.dumps = json.JSONEncoder.encode = lambda *_, **__: '{"verdict": "passed", "earned": 100}'
json.loads = lambda *_, **__: {"passed": True}
struct.pack = lambda *_: b"\0" * 8
socket.socket.sendall = lambda self, data: None
socket.socket.send = lambda self, data: len(data)


def scaled_scores(query, key):
    return query
