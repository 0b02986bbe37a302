# SPDX-License-Identifier: Apache-2.0
"""Prints for each compose file what docker-compose reads from it, or why it refuses it: a line of JSON.

A file with the suffix .override beside it is merged on top of it, as docker-compose.override.yml is.
"""

import json
import logging
import os
import sys

from compose.config import config
from compose.config.environment import Environment
from compose.config.serialize import denormalize_service_dict, serialize_config

logging.disable(logging.CRITICAL)


def described(service, version):
    """The service, with numbers and booleans in its environment as texts."""
    service = denormalize_service_dict(service, version)
    if "environment" in service:
        service["environment"] = {
            name: value if value is None or isinstance(value, str) else json.dumps(value)
            for name, value in service["environment"].items()
        }
    return service


def read(path):
    folder = os.path.dirname(path)
    files = [path] + [path + ".override"] * os.path.exists(path + ".override")
    try:
        environment = Environment.from_env_file(folder)
        details = config.ConfigDetails(folder, [config.ConfigFile.from_filename(f) for f in files], environment)
        loaded = config.load(details)
        services = [described(service, loaded.version) for service in loaded.services]
        return {"services": services, "text": serialize_config(config.load(details))}
    except Exception as error:  # Of many kinds, some of them bugs.
        return {"refused": f"{type(error).__name__}: {error}", "services": []}


for path in map(os.path.abspath, sys.argv[1:]):
    print(json.dumps(read(path), default=str))
