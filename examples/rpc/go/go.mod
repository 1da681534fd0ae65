module zot.example/rpc

go 1.21
