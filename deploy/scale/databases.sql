-- A database for each service, and a role that owns it and nothing else.
\getenv password POSTGRES_PASSWORD
CREATE ROLE objstore LOGIN PASSWORD :'password';
CREATE DATABASE objstore OWNER objstore;
CREATE ROLE payments LOGIN PASSWORD :'password';
CREATE DATABASE payments OWNER payments;
