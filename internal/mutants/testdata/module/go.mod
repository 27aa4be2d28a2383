module example.org/module

go 1.24.0
