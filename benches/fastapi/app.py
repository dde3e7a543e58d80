"""The peer of `health`: what authsvc answers without the portal, as one writes it with FastAPI."""

from datetime import datetime, timedelta, timezone
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

LOCAL = timezone(timedelta(hours=5, minutes=30))

ProfileField = Literal[
    "name", "prn", "srn", "program", "branch", "semester", "section", "email", "mobile",
    "campusCode", "campus", "firstName", "middleName", "lastName", "branchShortCode", "gender",
    "dateOfBirth",
]  # fmt: skip


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    username: str = Field(min_length=1, max_length=96)
    password: str = Field(min_length=1, max_length=128)
    profile: bool = False
    fields: list[ProfileField] | None = Field(default=None, min_length=1)


app = FastAPI()


def answer(status: bool, message: str) -> dict[str, object]:
    timestamp = datetime.now(LOCAL).isoformat(timespec="microseconds")
    return {"status": status, "message": message, "timestamp": timestamp}


@app.exception_handler(RequestValidationError)
async def refuse(_: Request, error: RequestValidationError) -> JSONResponse:
    rules = "; ".join(f"{error['loc'][-1]}: {error['msg']}" for error in error.errors())
    return JSONResponse(answer(False, rules), status_code=400)


@app.get("/health")
async def health() -> dict[str, object]:
    return answer(True, "ok")


@app.post("/authenticate")
async def authenticate(_: SignIn) -> JSONResponse:
    return JSONResponse(answer(False, "there is no portal behind this"), status_code=502)
